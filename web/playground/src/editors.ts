// The editors: CodeMirror in the colours of the page.

import { EditorState, Extension, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, DecorationSet, EditorView, drawSelection, keymap, lineNumbers } from "@codemirror/view";
import { HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { unifiedMergeView } from "@codemirror/merge";
import { python } from "@codemirror/lang-python";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName)), tags.propertyName], color: "var(--code-function)" },
]);

/** The line that an error was found on; null for none. */
const wrongLine = StateEffect.define<number | null>();
const wrong = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, change) {
    if (change.docChanged) value = Decoration.none;
    for (const effect of change.effects) {
      if (!effect.is(wrongLine)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const lines = change.state.doc.lines;
      if (effect.value !== null && effect.value >= 1 && effect.value <= lines) {
        const at = change.state.doc.line(effect.value).from;
        builder.add(at, at, Decoration.line({ class: "wrong" }));
      }
      value = builder.finish();
    }
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function common(label: string): Extension[] {
  return [
    lineNumbers(), drawSelection(), search({ top: true }), python(), syntaxHighlighting(colours),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
  ];
}

/** A text to write in. Tab indents; Escape and then Tab leaves, as Ctrl-M does at once. */
export function writer(parent: HTMLElement, label: string, onRun: () => void): EditorView {
  let leaving = false;
  const indent = (change: (view: EditorView) => boolean) => (view: EditorView) => {
    const stays = !leaving;
    leaving = false;
    return stays && change(view);
  };
  const keys = keymap.of([
    { key: "Ctrl-Enter", mac: "Cmd-Enter", run: () => { onRun(); return true; } },
    { key: "Escape", run: () => { leaving = true; return false; } },
    { key: "Tab", run: indent(indentMore), shift: indent(indentLess) },
    ...defaultKeymap, ...historyKeymap, ...searchKeymap,
  ]);
  const extensions = [...common(label), history(), indentUnit.of("    "), wrong, keys];
  return new EditorView({ parent, state: EditorState.create({ extensions }) });
}

export function write(view: EditorView, text: string): void {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

export function markWrong(view: EditorView, line: number | null): void {
  view.dispatch({ effects: wrongLine.of(line) });
}

/** A text to read, with what changed against another one where that is given. */
export function reader(parent: HTMLElement, label: string, text: string, before: string | null): EditorView {
  const changes = before === null ? [] : [unifiedMergeView({
    original: before, mergeControls: false, gutter: true, highlightChanges: true, syntaxHighlightDeletions: true,
    collapseUnchanged: { margin: 3, minSize: 6 }, diffConfig: { scanLimit: 2000, timeout: 400 },
  })];
  const extensions = [...common(label), EditorState.readOnly.of(true), keymap.of([...defaultKeymap, ...searchKeymap]), ...changes];
  return new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
}
