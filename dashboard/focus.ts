/**
 * A `ref` for an element that gets the focus when it appears. Use this `ref` if the element replaces the button that
 * the user has pressed. Otherwise, the focus would be lost. The element needs a `tabIndex`.
 */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus({ preventScroll: true });
}
