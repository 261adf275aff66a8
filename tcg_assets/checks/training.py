"""Checks of the training assets."""

from tcg_assets.checks.declared import Declared

DECLARED = {
    "card_features": Declared(
        error={
            "id_coverage": "every card and attack of the engine has its row",
            "finite": "no static feature is NaN or infinite",
        }
    ),
    "work_plan": Declared(
        error={
            "each_row_once": "each selected row is in the plan exactly once",
            "decisions_whole": "no decision is divided",
            "budgets": "decisions a chunk and rows a microbatch stay within their budgets",
            "lane_order": "chunks of a lane keep their order",
            "split_disjoint": "no episode is on both sides of the split",
        },
        warn={"known_cards": "the card tables have every card of the days' decks"},
    ),
    "mlx_checkpoint": Declared(
        error={
            "fp32": "every leaf of parameters and moments is float32",
            "processed_as_planned": "microbatches and updates processed are those of the plan",
            "validation_once": "each validation row was scored exactly once an epoch",
            "finite": "no value of the curves is NaN or infinite",
            "learned": "validation accuracy above the most frequent option rank, cross-entropy falling",
        },
        warn={
            "aux_heads": "each auxiliary head is better than its mean",
            "aux_share": "auxiliary losses are at most three quarters of the loss",
            "grad_norm": "the gradient norm before the clip does not grow tenfold",
            "cache_hits": "row groups are mostly served from memory",
        },
    ),
}
