const PATHS = {
  bridge: "M3 17h18M6 17v-4a6 6 0 0 1 12 0v4M12 7v10",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  poll: "M12 4v11m0 0-4-4m4 4 4-4M5 20h14",
  push: "M12 20V9m0 0-4 4m4-4 4 4M5 4h14",
  off: "M6 6l12 12M18 6 6 18",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5",
  screen: "M3 5h18v11H3zM9 20h6M12 16v4",
  done: "M5 12.5l4.5 4.5L19 7.5",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16 16l4.5 4.5",
  warn: "M12 4 2.5 20h19zM12 10v4M12 17v.5",
  leave: "M14 4h5v16h-5M4 12h11m0 0-4-4m4 4-4 4",
  plus: "M12 5v14M5 12h14",
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
