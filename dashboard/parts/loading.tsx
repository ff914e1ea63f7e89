/** Says that something is on its way, once it takes longer than a moment. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      <span class="wheel" aria-hidden="true" />
      {what} …
    </p>
  );
}
