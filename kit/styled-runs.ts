import type { Inline } from "./message-tree";
import { isWebUrl, labelOf } from "./plain-text";

type Element<Type> = Extract<Inline, { type: Type }>;

/** An element with its styles. */
export interface Run {
  readonly inline: Element<"text"> | Element<"break"> | Element<"inline-code"> | Element<"link">;
  readonly isBold: boolean;
  readonly isItalic: boolean;
}

/**
 * Returns a paragraph as a flat list of runs, for markup that cannot nest styles freely. A link that chats cannot open
 * is replaced by its label. A line break is bold or italic only if both of its neighbours are. Line breaks at the start
 * and the end of the paragraph are removed.
 */
export function styledRuns(inlines: readonly Inline[]): readonly Run[] {
  const all = flatten(inlines, { isBold: false, isItalic: false });
  const runs = all.slice(all.findIndex(isShown), all.findLastIndex(isShown) + 1);
  return runs.map((run, index) => {
    const [before, after] = [runs[index - 1], runs[index + 1]];
    if (isShown(run) || before === undefined || after === undefined) return run;
    const isBold = before.isBold && after.isBold;
    return { inline: run.inline, isBold, isItalic: before.isItalic && after.isItalic };
  });
}

const isShown = ({ inline }: Run): boolean => inline.type !== "break";

type Styles = Pick<Run, "isBold" | "isItalic">;

function flatten(inlines: readonly Inline[], styles: Styles): readonly Run[] {
  return inlines.flatMap((inline) => {
    switch (inline.type) {
      case "bold":
        return flatten(inline.children, { ...styles, isBold: true });
      case "italic":
        return flatten(inline.children, { ...styles, isItalic: true });
      case "link": {
        const children = labelOf(inline);
        return isWebUrl(inline.url)
          ? [{ inline: { ...inline, children }, ...styles }]
          : flatten(children, styles);
      }
      default:
        return inline.type === "text" && inline.text === "" ? [] : [{ inline, ...styles }];
    }
  });
}
