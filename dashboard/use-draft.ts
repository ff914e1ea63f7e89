import { useState } from "preact/hooks";

/**
 * Returns the text of a field that shows a stored value, and the function that sets this text. When the stored value
 * changes, the field shows the new value. If the text differs from the new value only by surrounding spaces, the text
 * stays.
 *
 * @remarks The hook sets its state during rendering. An effect would run after the first paint, and remove what a fast
 * user has already typed.
 */
export function useDraft(stored: string): [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(stored);
  const [last, setLast] = useState(stored);
  if (last !== stored) {
    setLast(stored);
    if (text.trim() !== stored) setText(stored);
  }
  return [text, setText];
}
