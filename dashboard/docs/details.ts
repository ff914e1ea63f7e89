import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "./swagger.css";
import { addNames, ownParts, type ReferenceDocument } from "./parts";

/**
 * Shows the details of all calls with Swagger UI, which is large. Once the details are shown, resolves to a function
 * that opens the details of one call. That function's argument is the fragment of the call's link, e.g.
 * "#/inbound/postEvent".
 */
export async function showDetails(
  place: HTMLElement,
  spec: ReferenceDocument,
): Promise<(fragment: string) => void> {
  addNames(spec);
  const domNode = document.createElement("div");
  place.append(domNode);
  const { layoutActions } = SwaggerUI({
    domNode,
    spec,
    layout: "Page",
    deepLinking: true,
    defaultModelRendering: "example",
    defaultModelExpandDepth: 2,
    // The schemas are collapsed, because they would otherwise fill most of the page.
    defaultModelsExpandDepth: 0,
    // The syntax highlighter is off, because its colours suit only a dark background.
    syntaxHighlight: false,
    // Requests must be signed, and the page does not contain a secret, so the user cannot send requests from the page.
    supportedSubmitMethods: [],
    plugins: [ownParts],
  });
  await drawn(domNode);
  return (fragment) => {
    const [, group = "", id = ""] = fragment.split("/");
    layoutActions.show(["operations", group, id], true);
    // Swagger UI draws the open details in a later task. Until then, the page may be too short to scroll to the
    // details.
    requestAnimationFrame(() =>
      setTimeout(() => moveTo(document.getElementById(`operations-${group}-${id}`))),
    );
  };
}

function moveTo(details: HTMLElement | null): void {
  details?.scrollIntoView();
  details?.querySelector<HTMLElement>(".opblock-summary-control")?.focus({ preventScroll: true });
}

/** Resolves when Swagger UI has drawn the calls. Its `onComplete` is called earlier. */
function drawn(domNode: HTMLElement): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (domNode.querySelector(".opblock") === null) return;
      observer.disconnect();
      resolve();
    };
    const observer = new MutationObserver(look);
    observer.observe(domNode, { childList: true, subtree: true });
    look();
  });
}
