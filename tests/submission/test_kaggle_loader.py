"""The extracted submission through Kaggle's own loader, in a process that knows nothing of the project."""

import json
import os
import subprocess
import sys
import textwrap

SCRIPT = """
    import json, sys
    from kaggle_environments import make
    main = sys.argv[1]
    found = []
    for version, agents in ((1, [main, "random"]), (1, ["random", main]), (2, [main, main])):
        env = make("cabt", configuration={"version": version, "bo": 1})
        env.run(agents)
        found.append({"statuses": [s["status"] for s in env.steps[-1]], "steps": len(env.steps),
                      "errors": [l["stderr"] for step in env.logs for l in step if l.get("stderr")]})
    print("RESULT" + json.dumps({"games": found, "where": sys.modules["tcg_core"].__file__}))
"""


def test_kaggle_s_own_loader_plays_it_in_both_seats_and_against_itself(packed, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "TCG_DATA")}
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(packed.folder / "main.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.rpartition("RESULT")[2])
    assert [game["statuses"] for game in result["games"]] == [["DONE", "DONE"]] * 3
    assert not any(game["errors"] for game in result["games"]), "a fallback prints to stderr"
    assert all(game["steps"] > 4 for game in result["games"])
    assert result["where"].startswith(str(packed.folder))
