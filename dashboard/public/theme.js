// Before anything is painted: the theme that the reader chose, where there is one.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is closed to us: the system's theme it is.
}
