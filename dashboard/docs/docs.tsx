import { render } from "preact";
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import { chosenTheme, onColours } from "../theme";
import { Masthead } from "./masthead";
import { addNames, partsFor, type ReferenceDocument } from "./parts";

const SYSTEM_DARK = matchMedia("(prefers-color-scheme: dark)");

/** Swagger UI uses its dark colours if the page has the class `dark-mode`. */
function applyTheme(): void {
  const theme = chosenTheme.get();
  const isDark = theme === "system" ? SYSTEM_DARK.matches : theme === "dark";
  document.documentElement.classList.toggle("dark-mode", isDark);
}

applyTheme();
onColours(applyTheme);
const header = document.querySelector("header");
if (header !== null) render(<Masthead />, header);
const answer = await fetch("openapi.json");
const spec = (await answer.json()) as ReferenceDocument;
addNames(spec);
document.title = `${spec.info.title} ${spec.info.version}: reference`;
SwaggerUI({
  dom_id: "#docs",
  spec,
  layout: "Page",
  deepLinking: true,
  defaultModelRendering: "example",
  defaultModelExpandDepth: 2,
  // The schemas are folded: open, they would be most of the page.
  defaultModelsExpandDepth: 0,
  // The highlighter's colours suit only a dark background.
  syntaxHighlight: false,
  // Requests must be signed, and the page does not contain a secret, so the user cannot send requests from the page.
  supportedSubmitMethods: [],
  plugins: [partsFor(spec)],
});
