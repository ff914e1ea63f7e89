/** The style sheet of the reference page. It follows the reader's color scheme, font size and contrast. */
export const OPENAPI_STYLE = `:root {
  color-scheme: light dark;
  --text: light-dark(#1b1d22, #e6e7ea);
  --soft: light-dark(#f2f3f5, #22252b);
  --line: light-dark(#c6c9d0, #454a54);
  --link: light-dark(#0a4fb0, #8ab8ff);
}
body {
  margin: 0 auto;
  padding: 1rem;
  max-width: 62rem;
  color: var(--text);
  background: light-dark(#fff, #16181c);
  font: 1rem/1.55 system-ui, sans-serif;
}
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code { padding: 0 0.2em; background: var(--soft); overflow-wrap: anywhere; }
h2 { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { margin-top: 2rem; }
.call code { display: block; padding: 0.5em; font-size: 1.1rem; }
nav ul ul { columns: 11rem; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.4rem 0.8rem 0.4rem 0; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
.skip { position: absolute; inset-inline-start: -100vw; }
.skip:focus { position: static; }
@media print { nav, .skip { display: none; } }
`;
