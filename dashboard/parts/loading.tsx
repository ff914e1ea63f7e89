/** Says what is loading. The stylesheet shows the text only after a moment. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      <span class="wheel" aria-hidden="true" />
      {what} …
    </p>
  );
}
