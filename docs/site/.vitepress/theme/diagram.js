import mermaidUrl from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";
import { useData } from "vitepress";
import { defineComponent, h, onMounted, ref, useId, watch } from "vue";

let loading;

/** Loads Mermaid, once, and only on pages with a diagram. */
function loadMermaid() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = mermaidUrl;
    script.addEventListener("load", () => resolve(globalThis.mermaid));
    script.addEventListener("error", () => reject(new Error("cannot load the diagrams")));
    document.head.append(script);
  });
  return loading;
}

/**
 * Draws a Mermaid diagram in the colours of the page. Until the diagram is drawn, and without JavaScript, the component
 * shows the text of the diagram.
 */
export const Diagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData();
    const id = `diagram-${useId().replaceAll(/\W/g, "")}`;
    const text = decodeURIComponent(props.source);
    const drawn = ref("");
    async function draw() {
      const mermaid = await loadMermaid();
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: "strict",
        theme: isDark.value ? "dark" : "neutral",
        fontFamily: "inherit",
        // These sizes, in pixels, make a diagram of five participants as wide as the text of a page.
        sequence: {
          wrap: true,
          width: 100,
          actorMargin: 36,
          height: 40,
          messageFontSize: 14,
          actorFontSize: 14,
        },
      });
      drawn.value = (await mermaid.render(id, text)).svg;
    }
    onMounted(draw);
    watch(isDark, draw);
    return () =>
      drawn.value === ""
        ? h("pre", { class: "diagram" }, text)
        : h("figure", { class: "diagram", tabindex: 0, "aria-label": "Diagram", innerHTML: drawn.value });
  },
});
