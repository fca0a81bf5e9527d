// Code views: CodeMirror, read only, in the colours of the page.

import { EditorState, Extension, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, DecorationSet, EditorView, drawSelection, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { HighlightStyle, LanguageSupport, StreamLanguage, foldGutter, foldKeymap, syntaxHighlighting } from "@codemirror/language";
import { defaultKeymap } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { MergeView } from "@codemirror/merge";
import { python } from "@codemirror/lang-python";
import { gas } from "@codemirror/legacy-modes/mode/gas";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName)), tags.propertyName], color: "var(--code-function)" },
  { tag: [tags.typeName, tags.className, tags.labelName, tags.meta], color: "var(--code-type)" },
]);

const llvm = StreamLanguage.define<null>({
  name: "llvm",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^;.*/)) return "comment";
    if (stream.match(/^"[^"]*"/)) return "string";
    if (stream.match(/^[%@][\w.$-]+/)) return "variableName";
    if (stream.match(/^(?:i\d+|half|float|double|bfloat|ptr|void|label|x)\b/)) return "typeName";
    if (stream.match(/^-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+(?:e[+-]?\d+)?)?)\b/)) return "number";
    if (stream.match(/^[\w.$-]+:/)) return "labelName";
    if (stream.match(/^[a-z_][\w.]*/)) return "keyword";
    stream.next();
    return null;
  },
});

const languages: Record<string, Extension> = {
  python: python(), llvm: new LanguageSupport(llvm), asm: StreamLanguage.define(gas),
};

/** Lines that belong to the line under the pointer. */
export const markLines = StateEffect.define<{ lines: number[]; kind: string }>();
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, change) {
    for (const effect of change.effects) {
      if (!effect.is(markLines)) continue;
      const builder = new RangeSetBuilder<Decoration>();
      const style = Decoration.line({ class: effect.value.kind });
      for (const line of effect.value.lines) {
        if (line >= 1 && line <= change.state.doc.lines) builder.add(change.state.doc.line(line).from, change.state.doc.line(line).from, style);
      }
      value = builder.finish();
    }
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function common(language: string, label: string): Extension[] {
  return [
    lineNumbers(), highlightSpecialChars(), drawSelection(), foldGutter(), search({ top: true }),
    EditorState.readOnly.of(true), syntaxHighlighting(colours), languages[language],
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.editorAttributes.of({ class: "code" }),
    keymap.of([...defaultKeymap, ...searchKeymap, ...foldKeymap]), marks,
  ];
}

export function viewer(parent: HTMLElement, text: string, language: string, label: string, onLine?: (line: number, pinned: boolean) => void): EditorView {
  const extra: Extension[] = [];
  if (onLine) {
    const at = (event: MouseEvent, view: EditorView) => {
      const pos = view.posAtCoords({ x: event.clientX, y: event.clientY }, false);
      return view.state.doc.lineAt(pos).number;
    };
    extra.push(EditorView.domEventHandlers({
      mousemove: (event, view) => { onLine(at(event, view), false); },
      click: (event, view) => { onLine(at(event, view), true); },
    }));
    extra.push(EditorView.updateListener.of((update) => {
      if (update.selectionSet && update.transactions.some((t) => t.isUserEvent("select") && !t.isUserEvent("select.pointer"))) {
        onLine(update.state.doc.lineAt(update.state.selection.main.head).number, true);
      }
    }));
  }
  return new EditorView({ parent, state: EditorState.create({ doc: text, extensions: [...common(language, label), ...extra] }) });
}

export function differ(parent: HTMLElement, before: string, after: string, names: [string, string]): MergeView {
  return new MergeView({
    parent, gutter: true, highlightChanges: true, collapseUnchanged: { margin: 3, minSize: 6 },
    diffConfig: { scanLimit: 2000, timeout: 400 },
    a: { doc: before, extensions: common("python", `before: ${names[0]}`) },
    b: { doc: after, extensions: common("python", `after: ${names[1]}`) },
  });
}
