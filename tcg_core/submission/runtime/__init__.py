"""What runs on Kaggle: standard library, numpy, torch, ``encode`` and the PyTorch side of ``model``; nothing else."""
