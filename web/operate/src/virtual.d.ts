/** The languages of lang/ by tag, with the addresses of their files beside the script. build.mjs makes it. */
declare module "virtual:languages" {
  const languages: Readonly<Record<string, { readonly name: string; readonly path: string }>>;
  export default languages;
}

/** The languages of the waiting page, from web/lang. build.mjs makes it. */
declare module "virtual:page-languages" {
  const languages: readonly string[];
  export default languages;
}
