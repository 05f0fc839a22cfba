"""The prefix cache of one replica: least recently used blocks leave first."""

from collections import OrderedDict
from collections.abc import Sequence


class PrefixCache:
    """Which prefix blocks a replica still holds."""

    def __init__(self, capacity_blocks: int) -> None:
        self._capacity = capacity_blocks
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def matched(self, blocks: Sequence[int]) -> int:
        """How many leading blocks are held; they become the most recently used."""
        count = 0
        for block in blocks:
            if block not in self._blocks:
                break
            self._blocks.move_to_end(block)
            count += 1
        return count

    def insert(self, blocks: Sequence[int]) -> None:
        """Hold these blocks, at the cost of the least recently used ones."""
        for block in blocks:
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
