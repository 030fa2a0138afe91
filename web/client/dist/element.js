var m={joining:"One moment",waiting:"You are in line",ready:"It is your turn",active:"You are in",completed:"Thank you for waiting",left:"You have left",evicted:"You were removed from the line",finished:"This line is over",expired:"Your session has ended",failed:"This line is not available",closed:"Waiting has stopped"};function d(i){return i.status!=="expired"||!i.isMissedTurn?m[i.status]:i.reason?"Your wait has ended":"You missed your turn"}function u(i){let{status:e,connection:t,problem:n}=i;return e==="failed"?`${n?.message}.`:t==="offline"?"Your device is offline. Your place is kept.":t!=="online"?"No answer yet. Trying again.":e==="waiting"&&!i.estimatedWaitSeconds?"The line stands still. Your place is kept.":e==="waiting"?"Keep this page open. A reload keeps your place.":""}function c(i){if(!i)return"";let[e,t]=i.high<90?[1,"seconds"]:i.high<7200?[60,"minutes"]:[3600,"hours"],n=Math.floor(i.low/e),s=Math.ceil(i.high/e);return n===s?`about ${s} ${t}`:`${n} to ${s} ${t}`}function h(i){if(Number.isNaN(i))return"";let e=Math.max(0,Math.round(i/1e3));return`${Math.floor(e/60)}:${String(e%60).padStart(2,"0")}`}import{joinQueue as f}from"./vestibule.js";var v=`
:host {
  display: block;
  padding: var(--vestibule-padding, 1.5rem);
  border-radius: var(--vestibule-radius, .5rem);
  background: var(--vestibule-ground, #fff);
  color: var(--vestibule-ink, #1d2433);
  font: var(--vestibule-font, 1rem/1.5 system-ui, sans-serif);
  text-align: center;
}
:host([hidden]), [hidden] { display: none !important }
h2, p, button { margin: 0 .2em .5em }
[part=number] { color: var(--vestibule-accent, #2457d6); font-size: 3em; font-weight: 700; line-height: 1.2 }
[part=hint] { color: var(--vestibule-soft, #5a6478) }
button {
  padding: .6em 1.2em;
  border: 1px solid;
  border-radius: var(--vestibule-radius, .5rem);
  background: none;
  color: var(--vestibule-accent, #2457d6);
  font: inherit;
  cursor: pointer;
}`;function o(i,e,t,n=""){let s=document.createElement(e);return s.part.value=t,s.textContent=n,i.appendChild(s),s}var b=250,l=class extends(globalThis.HTMLElement??Object){static observedAttributes=["queue","base","confirm","return"];options={};place;#e;#n;#a;connectedCallback(){if(!this.#e){this.#e=this.attachShadow({mode:"open"});let e=o(this.#e,"div","spoken");e.ariaLive="polite",o(e,"h2","headline"),o(e,"p","message"),o(e,"p","hint"),o(this.#e,"p","number"),o(this.#e,"p","wait"),o(this.#e,"button","claim","Enter now").onclick=()=>{this.place?.claim()},o(this.#e,"button","leave","Leave the line").onclick=()=>{this.place?.leave()},o(this.#e,"button","join","Join the line").onclick=()=>{this.#s(),this.#n?.postMessage(0)};let t=new CSSStyleSheet;t.replaceSync(v),this.#e.adoptedStyleSheets=[t]}this.#n=new BroadcastChannel(`vestibule:${this.getAttribute("queue")}`),this.#n.onmessage=()=>this.#i("join").hidden||this.#s(),this.#a=setInterval(()=>this.#l(),b),this.#s()}disconnectedCallback(){clearInterval(this.#a),this.#n?.close(),this.#o()}attributeChangedCallback(){this.place&&this.#s()}#o(){let{place:e}=this;this.place=void 0,e?.close()}#s(){this.#o();let{queue:e="",base:t="",confirm:n="auto",return:s=""}=Object.fromEntries([...this.attributes].map(({name:r,value:p})=>[r,p])),a=this.place=f({queue:e,base:t,confirm:n,returnTo:s,...this.options});a.subscribe(r=>a===this.place&&this.#r(r)),this.#r(a.state)}#r(e){let{status:t}=e,n=["waiting","ready","active"].includes(t);this.#t("headline",d(e)),this.#t("message",e.queue.message),this.#t("hint",u(e)),this.#t("wait",t==="waiting"?c(e.estimatedWaitSeconds):""),this.#l(),this.#i("claim").hidden=!(t==="ready"&&e.needsInput),this.#i("leave").hidden=!n,this.#i("join").hidden=n||["joining","finished"].includes(t);let s=new CustomEvent("vestibule-state",{detail:e,bubbles:!0,composed:!0,cancelable:!0});this.dispatchEvent(s)&&t==="active"&&e.targetUrl&&(this.#o(),location.replace(e.targetUrl))}#l(){let e=this.place?.state,t=e?.status==="waiting"&&e.position?.toLocaleString(),n=e&&"endsAtMs"in e?e.endsAtMs:Number.NaN;this.#t("number",t||h(n-performance.now()))}#t(e,t){let n=this.#i(e);n.hidden=t==="",n.textContent!==t&&(n.textContent=t)}#i(e){return this.#e.querySelector(`[part=${e}]`)}};globalThis.customElements?.define("vestibule-line",l);export{l as VestibuleLine};
