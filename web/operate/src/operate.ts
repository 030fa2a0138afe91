// The operator's console.
document.title = "Vestibule";
