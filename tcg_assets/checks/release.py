"""Checks of the release assets."""

from tcg_assets.checks.declared import Declared

DECLARED = {
    "torch_artifact": Declared(
        error={
            "strict_names": "weight names and shapes are those of the network, both ways",
            "fp32": "every leaf and static table is float32 and finite",
            "parity": "MLX and PyTorch agree within the limit over real decisions and recurrent steps",
            "reload": "a fresh process without MLX reads the artifact and repeats the reference",
            "reload_checkpoint": "a fresh process reads the checkpoint and repeats the reference",
        }
    ),
    "submission": Declared(
        error={
            "extracted": "the archive holds exactly what its manifest lists, and unpacks as the sandbox unpacks it",
            "size": "the archive is under the size limit",
            "deck": "the deck is legal in every declared generation and the agent answers with it",
            "logits": "the imported agent computes the reference logits of the artifact",
            "plays": "real games are played from the extracted archive without error, timeout or fallback",
            "time": "a game's decisions stay well inside the time budget",
        }
    ),
}
