"""Print the paths through which cocotb's makefiles find fp9's simulators.

`python -m fp9_sim.bench` prints the path of a makefile to include. `python -m fp9_sim.bench SIMULATOR` prints the
folder that contains the simulator.
"""

import sys

from fp9_sim.bench.runner import MAKEFILE
from fp9_sim.simulators.find import find

if __name__ == "__main__":
    print(find(sys.argv[1]).folder if sys.argv[1:] else MAKEFILE)
