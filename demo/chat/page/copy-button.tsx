import { useState } from "preact/hooks";
import { Icon } from "./marks";

/** A button that copies `text` to the clipboard. If the browser does not allow this, the button says so. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [result, setResult] = useState("");
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setResult("Copied.");
    } catch {
      setResult("Your browser did not allow copying: select the text and copy it by hand.");
    }
  }
  return (
    <p class="copy">
      <button type="button" class="button small" onClick={() => void copy()}>
        <Icon name="copy" /> {label}
      </button>
      <span role="status">{result}</span>
    </p>
  );
}
