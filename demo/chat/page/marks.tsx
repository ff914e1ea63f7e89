import type { Member } from "../shapes";

const PATHS = {
  bridge: "M3 17h18M6 17v-4a6 6 0 0 1 12 0v4M12 7v10",
  send: "M4 12 20 4l-5 16-3.5-6.5zM11.5 13.5 20 4",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 13l4.5 4.5L19 7",
  copy: "M9 9h10v10H9zM15 9V5H5v10h4",
  down: "M12 5v14m0 0-6-6m6 6 6-6",
  link: "M14 5h5v5M19 5l-8 8M18 14v5H5V6h5",
  eye: "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12M12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5",
  out: "M7 17 17 7M9 7h8v8",
  in: "M17 7 7 17M15 17H7V9",
} as const;

/** A decorative icon beside text, hidden from screen readers. */
export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

const HUES = 8;

/** A member's avatar: the first letter of the name, on a colour derived from the id. */
export function Avatar({ id, name }: Member) {
  const sum = [...id].reduce((before, letter) => before + (letter.codePointAt(0) ?? 0), 0);
  const [letter = "?"] = name.trim();
  return (
    <span class={`avatar hue-${sum % HUES}`} aria-hidden="true">
      {letter.toUpperCase()}
    </span>
  );
}

export function ServiceMark() {
  return (
    <span class="service-mark" aria-hidden="true">
      <Icon name="bridge" />
    </span>
  );
}
