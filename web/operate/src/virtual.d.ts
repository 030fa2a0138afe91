/** The languages of lang/ by tag, with the addresses of their files beside the script. build.mjs makes it. */
declare module "virtual:languages" {
  const languages: Readonly<Record<string, { readonly name: string; readonly path: string }>>;
  export default languages;
}
