from .base import CPUScheduleRule
class GEMV(CPUScheduleRule):
    def apply(self, func, target, _): return None
