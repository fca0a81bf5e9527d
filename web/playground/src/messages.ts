// What the page and its worker say to each other.

export interface Example { title: string; program: string; schedule: string; sizes: string }
export interface Question { program: string; schedule: string; sizes: string; seed: number }

export interface Stage { name: string; text: string }
export interface Value { name: string; dtype: string; shape: number[]; text: string; same: boolean; apart: number; scale: number }
export interface Failure { part: string; line: number | null; text: string }
export interface Result { stages: Stage[]; values: Value[]; printed: string; error: Failure | null }

export type Answer =
  | { kind: "progress"; text: string }
  | { kind: "ready" }
  | { kind: "result"; result: Result }
  | { kind: "failed"; text: string };
