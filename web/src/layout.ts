// Places for the nodes of a graph in time that grows with its size, so that twenty thousand are no
// different from twenty. Nodes are given in the order of the program: inputs come before users.
//
// A node stands one row below its last input. Within a row, nodes go where their neighbours are,
// as near as their widths allow (pool adjacent violators: the least squares of all displacements).

export interface Placed { x: number[]; row: number[]; rows: number[][]; width: number; height: number }

export function place(inputs: number[][], width: number, rowHeight: number, gap: number): Placed {
  const n = inputs.length;
  const users: number[][] = Array.from({ length: n }, () => []);
  inputs.forEach((list, i) => list.forEach((j) => users[j].push(i)));
  const row = new Array<number>(n).fill(0);
  for (let i = 0; i < n; i++) for (const j of inputs[i]) row[i] = Math.max(row[i], row[j] + 1);
  for (let i = 0; i < n; i++) { // what needs nothing stands just above who needs it first
    if (!inputs[i].length && users[i].length) row[i] = Math.max(0, Math.min(...users[i].map((u) => row[u])) - 1);
  }
  const rows: number[][] = [];
  for (let i = 0; i < n; i++) (rows[row[i]] ??= []).push(i);
  for (let r = 0; r < rows.length; r++) rows[r] ??= [];
  const x = new Array<number>(n).fill(0);
  const step = width + gap;
  const sweep = (order: number[][], near: number[][]) => {
    for (const members of order) {
      const wish = members.map((i) => {
        const list = near[i];
        return list.length ? list.reduce((s, j) => s + x[j], 0) / list.length : x[i];
      });
      settle(members, wish, x, step);
    }
  };
  sweep(rows, inputs);
  sweep([...rows].reverse(), users);
  sweep(rows, inputs);
  let least = 0, most = 0;
  for (const v of x) { least = Math.min(least, v); most = Math.max(most, v); }
  for (let i = 0; i < n; i++) x[i] += width / 2 - least;
  return { x, row, rows, width: most - least + width, height: rows.length * rowHeight };
}

/** Order the members by their wishes and keep them `step` apart, with the least displacement. */
function settle(members: number[], wish: number[], x: number[], step: number) {
  const order = members.map((_, k) => k).sort((a, b) => wish[a] - wish[b] || members[a] - members[b]);
  const sums: number[] = [], counts: number[] = [];
  order.forEach((k, rank) => {
    sums.push(wish[k] - rank * step);
    counts.push(1);
    while (sums.length > 1) {
      const last = sums.length - 1;
      if (sums[last - 1] / counts[last - 1] <= sums[last] / counts[last]) break;
      sums[last - 1] += sums.pop()!;
      counts[last - 1] += counts.pop()!;
    }
  });
  let rank = 0;
  for (let b = 0; b < sums.length; b++) {
    for (let k = 0; k < counts[b]; k++, rank++) x[members[order[rank]]] = sums[b] / counts[b] + rank * step;
  }
}
