startCurves();
drawHeat();
startGroups();
startEpisodes();
startWatch();
