# SPDX-License-Identifier: Apache-2.0
"""The order of the faults that the scripts beside this one inject: few runs cover all phases and
ranks, and many cover all faults in each."""
import unittest

from jobs import PHASES, turn
from partitions import KINDS, kinds_for


class Turns(unittest.TestCase):
    def test_few_partitions_meet_all_phases(self):
        for workers in [2, 3]:
            for first in [0, 3]:
                made = [turn(run, kinds_for(workers, KINDS), PHASES, workers)
                        for run in range(first, first + len(PHASES))]
                self.assertEqual({phase for _, phase, _ in made}, set(PHASES))
                self.assertEqual({rank for _, _, rank in made}, set(range(workers)))
                self.assertEqual({kind for kind, _, _ in made}, set(kinds_for(workers, KINDS)))

    def test_many_partitions_meet_everything(self):
        for workers in [2, 3]:
            kinds = kinds_for(workers, KINDS)
            count = len(kinds) * len(PHASES) * workers
            made = {turn(run, kinds, PHASES, workers) for run in range(count)}
            self.assertEqual(len(made), count)

    def test_kinds_of_one_phase_come_in_turn(self):
        self.assertEqual([turn(run, ["from", "crash", "pair"], ["forward"], 3)[0] for run in range(3)],
                         ["from", "crash", "pair"])

    def test_two_workers_have_no_third(self):
        self.assertNotIn("pair", kinds_for(2, KINDS))
        self.assertIn("pair", kinds_for(3, KINDS))


if __name__ == "__main__":
    unittest.main()
