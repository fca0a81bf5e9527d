from .base import CPUScheduleRule
class Conv2D(CPUScheduleRule):
    def apply(self, func, target, _): return None
