/**
 * A `ref` for an element that gets the focus when it appears. Use it if the element replaces the button that the user
 * has pressed: otherwise, the focus is lost. The element needs a `tabIndex`.
 */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus({ preventScroll: true });
}
