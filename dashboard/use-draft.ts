import { useState } from "preact/hooks";

/**
 * The text of a field that shows a stored value, and the function that sets the text. When the stored value changes,
 * the field shows the new value; spaces around the same text stay.
 *
 * @remarks Sets its state while it renders. An effect would run after the first paint, and remove what a fast user
 * has typed by then.
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
