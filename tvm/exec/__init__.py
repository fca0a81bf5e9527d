"""The command line: `tvm compile`, `tvm run`, `tvm bench`; one module each."""
