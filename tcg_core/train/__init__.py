"""Training on a plan: the loop and its parts. BLAS threads are set here, before numpy or torch load theirs."""

from tcg_core.model.bootstrap import limit_threads

limit_threads()
