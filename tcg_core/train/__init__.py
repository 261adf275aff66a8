"""Training on a plan: the loop and its parts.

One BLAS thread unless the environment says otherwise, set before any BLAS is loaded: the network's products are small, and a
second thread spins between them (measured on two busy cores: 430 rows a second of CPU with one, 60 with two). It also
makes a run started from the command line and one started by Dagster recoverable by each other.
"""

import os

for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
