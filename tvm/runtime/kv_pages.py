"""Which pages of an attention cache belong to which sequence.

A sequence is a list of pages. Forks share full pages and count their users; a page that several
sequences use is copied before one of them writes to it.

    logical positions    0 .. sinks | sinks ............ length
    slots in the pages   0 .. sinks | (slid out) | offset .... used
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm.error import TVMError, message


class CacheSequence:
    """The pages and the length of a sequence, and the tree of its tokens that wait for a choice."""

    def __init__(self) -> None:
        self.pages: list[int] = []
        self.length = 0
        self.window = -1
        self.sinks = 0
        self.offset = 0
        self.tree: list[int] = []
        self.depths: list[int] = []

    @property
    def used(self) -> int:
        """How many slots of the pages are taken, those that slid out included."""
        return self.length - self.sinks + self.offset

    @property
    def is_chain(self) -> bool:
        """True when no token waits for a choice, or each follows the one before it."""
        return all(parent == i - 1 for i, parent in enumerate(self.tree))

    def slot_of(self, position: int) -> int:
        """Where in the pages a logical position lies."""
        return position if position < self.sinks else position - self.sinks + self.offset


class PageTable:
    """All sequences of a cache. `copy_page(source, target, count)` copies the first slots."""

    def __init__(
        self, page_count: int, page_size: int, copy_page: Callable[[int, int, int], None]
    ) -> None:
        self.page_size = page_size
        self.page_count = page_count
        self._copy_page = copy_page
        self.clear()

    def clear(self) -> None:
        """Forget all sequences."""
        self.sequences: dict[int, CacheSequence] = {}
        self._free = list(range(self.page_count - 1, -1, -1))
        self._users = [0] * self.page_count

    @property
    def available(self) -> int:
        """How many pages nobody uses."""
        return len(self._free)

    def get(self, name: int, asked: str) -> CacheSequence:
        """The sequence of a number."""
        found = self.sequences.get(name)
        if found is None:
            known = ", ".join(map(str, sorted(self.sequences)))
            raise TVMError(
                message(
                    f"{asked}: sequence {name}",
                    found=f'The sequence "{name}" cannot be found in KV cache',
                    legal=known or "none: add one first",
                )
            )
        return found

    def add(self, name: int) -> CacheSequence:
        """A new sequence without tokens."""
        if name in self.sequences:
            raise TVMError(
                message(
                    f"add sequence {name}",
                    found=f'The sequence "{name}" is already in the KV cache',
                    legal="a number that no sequence has",
                )
            )
        made = self.sequences[name] = CacheSequence()
        return made

    def remove(self, name: int) -> None:
        """Forget a sequence."""
        self._release(self.get(name, "remove_sequence").pages)
        del self.sequences[name]

    def fork(self, parent_name: int, child_name: int, position: int = -1) -> None:
        """A new sequence that starts with the first tokens of another (-1: all of them)."""
        parent = self.get(parent_name, "fork_sequence")
        wanted = parent.length if position == -1 else position
        check_committed(parent, parent_name)
        if not 0 <= wanted <= parent.length or parent.window != -1:
            raise TVMError(
                message(
                    f"fork sequence {parent_name} at {wanted}",
                    found=f"{parent.length} tokens"
                    + (", in a sliding window" if parent.window != -1 else ""),
                    legal="a position in a sequence without a sliding window",
                )
            )
        child = self.add(child_name)
        child.length = wanted
        child.pages = parent.pages[: -(-wanted // self.page_size)]
        for page in child.pages:
            self._users[page] += 1
        self.own_last_page(child)

    def pop(self, name: int, count: int) -> None:
        """Forget the last tokens of a sequence."""
        one = self.get(name, "popn")
        kept = one.length - count
        # what slid out of a window does not come back
        lowest = one.sinks if one.offset > one.sinks else 0
        if count < 0 or kept < lowest:
            raise TVMError(
                message(f"popn: {count} tokens of sequence {name}", found=f"{one.length} tokens",
                        legal=f"0 to {one.length - lowest}")
            )  # fmt: skip
        if count:
            del one.tree[max(len(one.tree) - count, 0) :]
            del one.depths[len(one.tree) :]
            self.truncate(one, kept)

    def truncate(self, one: CacheSequence, length: int) -> None:
        """Keep the first tokens of a sequence."""
        one.length = length
        needed = -(-one.used // self.page_size)
        self._release(one.pages[needed:])
        del one.pages[needed:]

    def reserve(self, one: CacheSequence, count: int) -> None:
        """Let a sequence grow by so many tokens, whose slots nobody else uses."""
        self.own_last_page(one)
        one.length += count
        while len(one.pages) * self.page_size < one.used:
            one.pages.append(self._take())

    def own_last_page(self, one: CacheSequence) -> None:
        """Copy the last page when it has room and others use it too."""
        filled = one.used % self.page_size
        if filled and self._users[one.pages[-1]] > 1:
            source = one.pages[-1]
            target = self._take()
            self._copy_page(source, target, filled)
            self._release([source])
            one.pages[-1] = target

    def slide(self, one: CacheSequence) -> None:
        """Let the oldest tokens go that are no longer in the window, all but the sinks."""
        surplus = one.length - one.window
        if one.window == -1 or surplus <= 0:
            return
        one.offset += surplus
        one.length = one.window
        first = -(-one.sinks // self.page_size)
        gone = max(one.offset // self.page_size - first, 0)
        self._release(one.pages[first : first + gone])
        del one.pages[first : first + gone]
        one.offset -= gone * self.page_size

    def slot(self, one: CacheSequence, position: int) -> int:
        """Where in all pages a logical position of a sequence lies."""
        page, within = divmod(one.slot_of(position), self.page_size)
        return one.pages[page] * self.page_size + within

    def _take(self) -> int:
        if not self._free:
            raise TVMError(
                message(
                    "append to the KV cache",
                    found="The KV cache is full. No page can be allocated",
                    legal=f"{self.page_count} pages of {self.page_size} tokens; remove or pop",
                )
            )
        page = self._free.pop()
        self._users[page] = 1
        return page

    def _release(self, pages: Sequence[int]) -> None:
        for page in pages:
            self._users[page] -= 1
            if not self._users[page]:
                self._free.append(page)


def check_committed(one: CacheSequence, name: int) -> None:
    """Refuse to build on tokens of which only some will stay."""
    if not one.is_chain:
        raise TVMError(
            message(
                f"sequence {name}",
                found="its tree of tokens is not committed",
                legal="attention_kv_cache_commit_accepted_token_tree_nodes first",
            )
        )
