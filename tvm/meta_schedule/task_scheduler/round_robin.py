"""One task after the other, in a circle."""

from __future__ import annotations

from logging import Logger

from .task_scheduler import TaskScheduler


class RoundRobin(TaskScheduler):
    """Each task that is not done gets its turn."""

    def __init__(self, *, logger: Logger | None = None) -> None:
        super().__init__(logger=logger)
        self.task_id = -1

    def next_task_id(self) -> int:
        """The next task in the circle, or -1."""
        for i in range(len(self.tasks_)):
            self.touch_task(i)
        for _ in self.tasks_:
            self.task_id = (self.task_id + 1) % len(self.tasks_)
            task = self.tasks_[self.task_id]
            if not task.is_terminated:
                if task.runner_futures is not None:
                    self.join_running_task(self.task_id)
                return self.task_id
        return -1
