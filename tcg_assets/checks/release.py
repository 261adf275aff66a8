"""Checks of the release assets."""

from tcg_assets.checks.declared import Declared

DECLARED = {
    "torch_artifact": Declared(
        error={
            "names": "the weight names agree both ways",
            "fp32": "every tensor is float32",
            "parity": "MLX and PyTorch agree within the limit over real decisions and recurrent steps",
            "reload": "a fresh process that reads the artifact gives the reference output",
        }
    ),
    "submission": Declared(
        error={
            "extracted": "the archive holds what the sandbox needs and nothing else",
            "plays": "real games are played from the extracted archive without a fallback",
            "size": "the archive is under the size limit",
            "time": "no decision takes longer than its limit",
        }
    ),
}
