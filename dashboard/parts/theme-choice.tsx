import { useStore } from "../store";
import { chooseTheme, chosenTheme, THEMES } from "../theme";
import { ActionButton } from "./action-button";
import { Icon } from "./icon";

const THEME_ICONS = { system: "screen", light: "sun", dark: "moon" } as const;

/** The button that changes the theme of all pages. */
export function ThemeChoice() {
  const theme = useStore(chosenTheme);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
  return (
    <ActionButton
      look="quiet"
      onClick={() => chooseTheme(next)}
      aria-label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme}`}
    >
      <Icon name={THEME_ICONS[theme]} />
    </ActionButton>
  );
}
