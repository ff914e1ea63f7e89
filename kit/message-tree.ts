/** The tree of `message.text`, which `parseMessageText` returns. */

/** An element that occupies whole lines. */
export type Block =
  | { readonly type: "paragraph"; readonly children: readonly Inline[] }
  | { readonly type: "quote"; readonly children: readonly Block[] }
  | CodeBlock;

/** An element within a line. */
export type Inline =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "break" }
  | { readonly type: "italic" | "bold"; readonly children: readonly Inline[] }
  | { readonly type: "inline-code"; readonly text: string }
  /** `url` is percent-encoded, may be relative, and never has a scheme that runs code. */
  | { readonly type: "link"; readonly url: string; readonly children: readonly Inline[] };

export interface CodeBlock {
  readonly type: "code-block";
  /**
   * The first word after the opening fence, e.g. `ts`; null if there is no word, or if the word does not name a
   * language.
   */
  readonly language: string | null;
  /** Lines of code, without a newline after the last line. */
  readonly text: string;
}

/**
 * Renders blocks as lines of text. A blank line separates blocks, and each quoted line begins with "> ".
 *
 * @param render returns the lines of a paragraph and of a code block
 */
export function renderBlocks(
  blocks: readonly Block[],
  render: {
    readonly paragraph: (inlines: readonly Inline[]) => string;
    readonly codeBlock: (block: CodeBlock) => string;
  },
): string {
  const renderBlock = (block: Block): string => {
    switch (block.type) {
      case "paragraph":
        return render.paragraph(block.children);
      case "quote":
        return renderBlocks(block.children, render)
          .split("\n")
          .map((line) => `> ${line}`)
          .join("\n");
      case "code-block":
        return render.codeBlock(block);
    }
  };
  return blocks.map(renderBlock).join("\n\n");
}
