import { Icon } from "../parts/icon";
import { ThemeChoice } from "../parts/theme-choice";
import { GUIDES } from "../words/guides";

/** The header of the API reference. It looks like the dashboard's header, and leads to the dashboard. */
export function Masthead() {
  return (
    <div class="masthead-inner">
      <a href="./" class="brand" aria-label="Chat bridge">
        <Icon name="bridge" />
        <span>Chat bridge</span>
      </a>
      <nav aria-label="Pages">
        <a href="./">Workspaces</a>
        <a href={GUIDES.all}>Guides</a>
        <a href="docs" aria-current="page">
          API reference
        </a>
      </nav>
      <ThemeChoice />
    </div>
  );
}
