// Pyodide lies beside the script when the page runs; its types come from the package.
export { loadPyodide } from "pyodide";
