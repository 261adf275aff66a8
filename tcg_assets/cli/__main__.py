"""`python -m tcg_assets.cli`: `tcg`, for a service file that names its interpreter."""

from tcg_assets.cli.main import main

main()
