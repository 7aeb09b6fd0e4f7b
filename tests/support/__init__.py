"""What tests share: catalogues as test rows, random formats, third-party references, programs, costs."""
