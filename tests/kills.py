"""When a test kills a process: moments drawn from one seed that is printed, and that ``TCG_TEST_SEED`` repeats.

A test asks for the fixture ``chance``. pytest shows what it printed when the test fails.
"""

import os
import random
import secrets

VARIABLE = "TCG_TEST_SEED"
#: One seed for the whole session; each test draws from its own stream, so that the order of tests does not matter.
SEED = int(os.environ.get(VARIABLE) or secrets.randbelow(2**32))


def chance_of(test: str, seed: int = SEED) -> random.Random:
    """The random numbers of the test of that name; prints how to get them again."""
    print(f"moments of {test} are drawn from {VARIABLE}={seed}")
    return random.Random(f"{seed} {test}")
