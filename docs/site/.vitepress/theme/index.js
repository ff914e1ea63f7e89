import { useData } from "vitepress";
import Theme from "vitepress/theme-without-fonts";
import { onMounted, watch } from "vue";
import { Diagram } from "./diagram.js";
import { searchOptions } from "./search.js";
import "./theme.css";

export default {
  extends: Theme,
  enhanceApp({ app, siteData }) {
    app.component("Diagram", Diagram);
    siteData.value.themeConfig.search.options.miniSearch.searchOptions = searchOptions;
  },
  setup() {
    const { frontmatter } = useData();
    // VitePress renders a <main> on all pages except the home page.
    const markMain = () => {
      const content = document.getElementById("VPContent");
      if (frontmatter.value.layout === "home") content?.setAttribute("role", "main");
      else content?.removeAttribute("role");
    };
    onMounted(markMain);
    watch(frontmatter, markMain, { flush: "post" });
  },
};
