"""What Dagster holds of assets whose history is complete, as the parents of what is told next: read once an asset."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import dagster as dg

from tcg_assets.dagster_private import DATA_VERSION_TAG
from tcg_core.base.digest import sha256_bytes


@dataclass(frozen=True)
class ParentMaterialization:
    """The materialization of a parent: its event and its data version; ``by_day``: over the partitions in question."""

    storage_id: int
    version: str
    by_day: bool


@dataclass(frozen=True)
class Held:
    """Parents in the history of ``instance``. Valid for assets that are not told any further."""

    instance: dg.DagsterInstance
    _days: dict[dg.AssetKey, tuple[Mapping[str, int], Mapping[str, str]]] = field(default_factory=dict)

    def latest(self, asset: dg.AssetKey) -> ParentMaterialization | None:
        """The last materialization of an asset without partitions, None before the first."""
        record = self.instance.get_latest_data_version_record(asset)
        if record is None:
            return None
        told = record.asset_materialization.tags if record.asset_materialization is not None else None
        return ParentMaterialization(record.storage_id, (told or {}).get(DATA_VERSION_TAG, ""), False)

    def days(self, asset: dg.AssetKey, day: str | None) -> ParentMaterialization | None:
        """The materialization of a day (None: of all days) of an asset with partitions, with the version as Dagster forms it:
        the hash over those of the partitions in question. None without any."""
        if asset not in self._days:
            storage, event = self.instance.event_log_storage, dg.DagsterEventType.ASSET_MATERIALIZATION
            tags = storage.get_latest_tags_by_partition(asset, event, [DATA_VERSION_TAG])
            versions = {name: found[DATA_VERSION_TAG] for name, found in tags.items()}
            self._days[asset] = (storage.get_latest_storage_id_by_partition(asset, event), versions)
        ids, held = self._days[asset]
        asked = sorted(held) if day is None else [day] if day in held else []
        if not asked:
            return None
        return ParentMaterialization(
            max(ids[name] for name in asked), sha256_bytes("".join(held[name] for name in asked).encode()), True
        )
