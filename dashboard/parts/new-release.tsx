import { isOutdated } from "../release";
import { useStore } from "../store";
import { ActionButton } from "./action-button";

/**
 * Asks for a reload when the server has a newer release. The line is below all other content and sticks to the lower
 * edge of the window, so that it does not move other content.
 */
export function NewRelease() {
  const isShown = useStore(isOutdated);
  return (
    <div class="new-release" role="status">
      {isShown && (
        <p>
          <span>A new version is running. A reload keeps what you typed.</span>
          <ActionButton onClick={() => location.reload()}>Reload</ActionButton>
        </p>
      )}
    </div>
  );
}
