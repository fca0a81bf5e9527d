"""What drives the devices that are no CPU: one class a kind, on a kept library of its field.

`api.py` says what a kind answers; `kinds.py` names who answers for it; `opencl.py` and the others
do. Their libraries are extras of the package and imported when a device is first asked for.
"""
