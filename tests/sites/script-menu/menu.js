// The menu comes late, as if it had been waited for.
addEventListener("load", () => setTimeout(() => {
  const pages = {
    "/": "Home",
    "/guide/": "Guide",
    "/guide/tomatoes.html": "Tomatoes",
    "/guide/beans.html": "Beans",
    "/about.html": "About",
  };
  const list = document.createElement("ul");
  for (const [path, name] of Object.entries(pages)) {
    list.insertAdjacentHTML("beforeend", `<li><a href="${path}">${name}</a></li>`);
  }
  document.getElementById("menu").append(list);
}, 300));
