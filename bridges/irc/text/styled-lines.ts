import type { Block, Inline } from "chat-bridge-kit";

/** Formatting codes of IRC: each code switches its style on or off. */
export const BOLD = "\u0002";
export const ITALIC = "\u001D";

/** Control characters, which can end a line of the protocol or change its style. */
const CONTROLS = /[\p{Cc}\u2028\u2029]/gu;

/** Returns text without control characters. */
export function withoutControls(text: string): string {
  return text.replaceAll(CONTROLS, " ");
}

/**
 * Returns the lines of a block of a message. Bold and italic text is enclosed in IRC's codes if `isStyled` is true.
 * Lines can be of any length, and empty lines are removed.
 */
export function linesOf(block: Block, isStyled: boolean): readonly string[] {
  const lines = ((): readonly string[] => {
    switch (block.type) {
      case "paragraph":
        return inlineText(block.children, isStyled).split("\n");
      case "quote":
        return block.children.flatMap((child) => linesOf(child, isStyled)).map((line) => `> ${line}`);
      case "code-block":
        return block.text.split("\n").map((line) => withoutControls(line.replaceAll("\t", "    ")));
    }
  })();
  return lines.filter((line) => line.trim() !== "");
}

/** Returns the text of inline elements, with a newline for each break. */
function inlineText(inlines: readonly Inline[], isStyled: boolean): string {
  return inlines
    .map((inline) => {
      switch (inline.type) {
        case "text":
        case "inline-code":
          return withoutControls(inline.text);
        case "break":
          return "\n";
        case "bold":
          return styled(inlineText(inline.children, isStyled), isStyled ? BOLD : "");
        case "italic":
          return styled(inlineText(inline.children, isStyled), isStyled ? ITALIC : "");
        case "link": {
          const label = inlineText(inline.children, isStyled);
          return label === inline.url ? label : `${label} (${withoutControls(inline.url)})`;
        }
      }
    })
    .join("");
}

/** Puts codes around each line of a text, because a style ends with the line. */
function styled(text: string, code: string): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : `${code}${line}${code}`))
    .join("\n");
}
