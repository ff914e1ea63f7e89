import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import { parts } from "./parts";

const DARK = matchMedia("(prefers-color-scheme: dark)");

function followColorScheme(): void {
  document.documentElement.classList.toggle("dark-mode", DARK.matches);
}

followColorScheme();
DARK.addEventListener("change", followColorScheme);
const ui = SwaggerUI({
  dom_id: "#docs",
  url: "openapi.json",
  layout: "Page",
  deepLinking: true,
  defaultModelRendering: "example",
  defaultModelExpandDepth: 2,
  // Requests must be signed, and the page has no secret, so the user cannot send requests from the page.
  supportedSubmitMethods: [],
  plugins: [parts],
  onComplete() {
    const { title, version } = ui.specSelectors.info().toJS();
    document.title = `${title} ${version}: reference`;
  },
});
